-- no transaction
-- compatible: an index more, and a column that is filled.

set lock_timeout = '5s';
call app.fill_first_answers();
create unique index concurrently if not exists answers_of_people_by_user on vault.answers_of_people (user_id, deal_id) include (at, first_at);
