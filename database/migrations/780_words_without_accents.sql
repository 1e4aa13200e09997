-- compatible: functions more.
--
-- "jose" did not find José, "muller" not Müller, nor "strasse" Straße, and a phone number was found only as it was written. What is looked for and what it is looked for in are
-- compared without accents, and phone numbers also by their digits.

create function app.folded_letters(words text) returns text language plpgsql immutable strict parallel safe as $$
declare
  -- Without combining marks, soft hyphens and what has no width.
  plain text := lower(regexp_replace(normalize(words, NFD), '[\u0300-\u036f\u00ad\u200b-\u200d\u2060\ufeff]', '', 'g'));
begin
  -- To look for them first costs a fifth of replacing them.
  if plain ~ '[øłıđςßæœ’‘ʼ“”]' then
    plain := replace(replace(replace(translate(plain, 'øłıđς’‘ʼ“”', 'olidσ''''''""'), 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe');
  end if;
  return plain;
end
$$;
grant execute on function app.folded_letters(text) to dealkeep_server;

-- Most text is ASCII, which is only put into lower case. PostgreSQL copies this into the query, and computes what it is given three times: give it what costs little.
create function app.folded(words text) returns text language sql immutable parallel safe
return case when octet_length(words) = length(words) then lower(words) else app.folded_letters(words) end;
grant execute on function app.folded(text) to dealkeep_server;

-- Of a phone number without what only groups its digits.
create function app.contact_words(display_name text, email text, phone text) returns text language sql immutable parallel safe
return app.folded(display_name || coalesce(' ' || email, '')) || coalesce(' ' || translate(lower(phone), ' +()-./', ''), '');
grant execute on function app.contact_words(text, text, text) to dealkeep_server;

-- The condition that a contact, c, has all these words; of one that can be part of a phone number, its digits suffice.
create function vault.contact_has(patterns text[]) returns text language sql immutable parallel safe set search_path = '' as $$
  select string_agg(case when p.pattern ~ '^%[0-9+()./-]+%$' and d.digits <> '' and p.pattern <> '%' || d.digits || '%'
      then format('(%1$s like %2$L or %1$s like %3$L)', w.words, p.pattern, '%' || d.digits || '%')
      else format('%s like %L', w.words, p.pattern) end, ' and ')
  from (select distinct app.folded(u) as pattern from unnest(patterns) u) p
  cross join lateral (select regexp_replace(p.pattern, '[^0-9]', '', 'g') as digits) d
  cross join (select 'app.contact_words(c.display_name, c.email, c.phone)' as words) w
$$;
