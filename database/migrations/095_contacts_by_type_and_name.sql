-- compatible: an index more.
-- A page of companies alone, or of people alone, by name is read in order whatever the brokerage has more of.
create index contacts_by_type_and_name on contacts (brokerage_id, type, left(lower(display_name), 100), id) where archived_at is null;
