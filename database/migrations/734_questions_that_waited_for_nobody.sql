-- compatible: changes rows as nodes of the release before do; apart from migration 730, whose lock on the table of people on deals would last as long.
--
-- Those that wait in vain already.
UPDATE public.questions q SET status = 'pending_broker_review'
  FROM public.deals d
  WHERE q.status = 'with_seller' AND d.id = q.deal_id AND d.state <> 'closed'
    AND NOT EXISTS (SELECT FROM public.participants p WHERE p.deal_id = q.deal_id AND p.role = 'seller' AND p.status = 'active');
