-- compatible: a value in the column of the file before.
--
-- Those that were erased before; their systems are told with the event of the change.
update public.contacts c set erased_at = c.updated_at
  from public.brokerages b, (values ('person', 'Former participant'), ('company', 'Former company')) n (type, name)
  where c.brokerage_id = b.id and c.archived_at is not null and app.folded("left"(c.display_name, 100)) = app.folded(n.name) and c.display_name = n.name and c.type = n.type
    and num_nonnulls(c.email, c.phone, c.external_id) = 0;
