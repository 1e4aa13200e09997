-- no transaction
-- compatible: indexes less; the documents of a deal are found by the indexes of a day, which begin with the deal, too.
--
-- Each upload wrote an entry of an index by deal alone, of which nothing was found that `documents_of_day` does not find with three pages more among 205.

set lock_timeout = '5s';
drop index concurrently if exists public.documents_of_deal;
drop index concurrently if exists public.production_documents_of_deal;
