-- compatible: the function does what it did; only the sentence of a refusal changes.
--
-- A broker who invited somebody to advise one person, while an invitation to advise another waited, read that it waits in another role.

do $$
declare
  was constant text := 'waiting already, in another role: withdraw it';
  definition constant text := (select pg_get_functiondef(p.oid) from pg_proc p
    where p.pronamespace = 'app'::regnamespace and p.proname = 'invite_to_deal');
begin
  if strpos(definition, was) = 0 then
    raise exception 'app.invite_to_deal does not say: %', was;
  end if;
  execute replace(definition, was, 'waiting already, in another role or to advise somebody else: withdraw it');
end
$$;
