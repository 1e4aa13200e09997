-- compatible: as 225_checks_of_contacts.sql has it.
alter table public.contacts validate constraint contacts_check;
