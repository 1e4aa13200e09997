-- compatible: functions of the same names and parameters; a plan with one that has another name now is made anew.
--
-- The names go from the functions so far to those of the file before the last, together with their indexes: a search or a sorted list never meets an index with words that were
-- folded differently.

set lock_timeout = '5s';
alter function app.folded_letters(text) rename to folded_letters_before;
alter function app.folded(text) rename to folded_before;
alter function app.contact_words(text, text, text) rename to contact_words_before;
alter function app.folded_letters_new(text) rename to folded_letters;
alter function app.folded_new(text) rename to folded;
alter function app.contact_words_new(text, text, text) rename to contact_words;

alter index public.contacts_by_folded_words rename to contacts_by_folded_words_before;
alter index public.contacts_by_folded_name rename to contacts_by_folded_name_before;
alter index public.contacts_by_type_and_folded_name rename to contacts_by_type_and_folded_name_before;
alter index public.contacts_archived_by_folded_name rename to contacts_archived_by_folded_name_before;
alter index public.contacts_by_folded_words_new rename to contacts_by_folded_words;
alter index public.contacts_by_folded_name_new rename to contacts_by_folded_name;
alter index public.contacts_by_type_and_folded_name_new rename to contacts_by_type_and_folded_name;
alter index public.contacts_archived_by_folded_name_new rename to contacts_archived_by_folded_name;
