-- compatible: indexes are added.
-- no transaction

-- What somebody wrote and opened, for the archive of what is kept about them, which read these tables from one end to the other.
create index concurrently if not exists questions_by_author on public.questions (asked_by);
create index concurrently if not exists question_answers_by_author on public.question_answers (answered_by);
create index concurrently if not exists offers_by_buyer on public.offers (buyer_user_id);
create index concurrently if not exists offer_decisions_by_author on public.offer_decisions (decided_by);
create index concurrently if not exists documents_by_author on public.documents (uploaded_by);
create index concurrently if not exists production_documents_by_author on public.production_documents (uploaded_by);
create index concurrently if not exists document_openings_by_user on public.document_openings (user_id, opened_at desc);
create index concurrently if not exists findings_by_author on public.findings (created_by);
create index concurrently if not exists finding_comments_by_author on public.finding_comments (created_by);
create index concurrently if not exists finding_changes_by_author on public.finding_changes (changed_by);
create index concurrently if not exists normalizations_by_author on public.normalizations (created_by);
create index concurrently if not exists accounting_snapshots_by_author on public.accounting_snapshots (requested_by);
create index concurrently if not exists financing_sources_by_author on public.financing_sources (created_by);
create index concurrently if not exists deals_by_author on public.deals (created_by);
