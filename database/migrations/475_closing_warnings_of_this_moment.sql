-- compatible: a function answers the same, and waits first.
--
-- Whoever closed a deal was not asked to confirm it where something came to be missing at that moment: an offer, a question or a closing condition that was not yet committed held the deal, and
-- the move waited for it when what is missing had been looked up already. The deal is locked before that now, as the move locks it.

create or replace function app.may_move(deal_id uuid, target text, confirmed boolean)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
begin
  if target = 'closed' and not coalesce(confirmed, false) then
    -- For nobody who may not change it: its policies hold here, too.
    perform from public.deals d where d.id = may_move.deal_id for no key update;
    if app.state_shown(deal_id) = 'closing' and app.closing_warnings(deal_id) <> '{}' then
      perform app.refuse('closing_unconfirmed', 'Something is missing for a closing: look at it, and confirm that the deal is closed all the same.');
    end if;
  end if;
  return true;
end
$$;
