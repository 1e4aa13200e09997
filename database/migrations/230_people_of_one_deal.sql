-- compatible: a policy answers as before.
--
-- Who is seen by a deal in common was asked of all deals that they take part in, also in a request about one deal: a document on a deal took 2.3 ms where a broker of
-- two hundred deals had added it, and 0.9 where one of five had. PostgreSQL looks into an index below other policies only for what it knows to tell nothing about rows, and
-- coalesce() is not among that; case is.
alter policy by_a_deal_in_common on users using (
  (select true from participants p
    where p.user_id = users.id and p.joined_at is not null
      and p.deal_id >= case when (select app.narrowed_to()) is null then '00000000-0000-0000-0000-000000000000'::uuid else (select app.narrowed_to()) end
      and p.deal_id <= case when (select app.narrowed_to()) is null then 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid else (select app.narrowed_to()) end
    limit 1)
  or ((select app.narrowed_to()) is not null and app.knows_from_a_deal(id)));
