-- no transaction
-- compatible: the same is answered.
--
-- What is done seldom looked through tables of the platform: deleting a client, as an erasure and the deletion of a brokerage do, through all grants, once for each client, for its
-- foreign key; deleting a brokerage and resetting a sandbox through all invitations; signing in, where hashes of passwords are to be made anew with other parameters, through
-- all passwords; and an erasure through all people for whether its pseudonym was taken.

create index concurrently if not exists token_families_of_clients on vault.token_families (client_id);
drop index if exists vault.token_families_by_client;
create index concurrently if not exists invitations_by_brokerage on vault.invitations (brokerage_id) where brokerage_id is not null;
create index concurrently if not exists passwords_by_hash on vault.passwords using hash (phc);
create index concurrently if not exists users_by_pseudonym on public.users (name) where name like 'Former participant %';
