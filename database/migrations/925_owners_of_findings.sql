-- compatible: a function with the same parameters, which knows one more action.
--
-- Whoever can open a finding learns from the activity that its owner was changed.

CREATE OR REPLACE FUNCTION app.subject_of(action text, details jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (action = ANY (ARRAY['document.upload'::text, 'document.change'::text, 'document.restore'::text])) THEN CASE (details ->> 'source'::text) WHEN 'production'::text THEN 'production_documents'::text ELSE 'documents'::text END WHEN (action = ANY (ARRAY['question.ask'::text, 'question.release'::text, 'question.distribute'::text])) THEN 'questions'::text WHEN (action = 'question.answer'::text) THEN 'question_answers'::text WHEN (action = ANY (ARRAY['nda.send'::text, 'nda.sign'::text, 'nda.revoke'::text])) THEN 'ndas'::text WHEN (action = ANY (ARRAY['offer.submit'::text, 'offer.accept'::text, 'offer.accept_change'::text, 'offer.decline_change'::text])) THEN 'offers'::text WHEN (action = ANY (ARRAY['condition.add'::text, 'condition.change'::text])) THEN 'closing_conditions'::text WHEN (action = ANY (ARRAY['finding.add'::text, 'finding.assign'::text, 'finding.status'::text])) THEN 'findings'::text WHEN (action = ANY (ARRAY['participant.invite'::text, 'participant.remove'::text, 'invitation.accept'::text])) THEN 'participants'::text WHEN (action = 'deal.move'::text) THEN CASE WHEN ((details ->> 'to'::text) = ANY (ARRAY['listed'::text, 'closed'::text, 'withdrawn'::text])) THEN 'deals'::text ELSE 'deal_stages'::text END WHEN (action = ANY (ARRAY['exclusivity.grant'::text, 'exclusivity.extend'::text, 'exclusivity.lapse'::text, 'exclusivity.release'::text])) THEN 'exclusive_buyers'::text ELSE NULL::text END;
