-- compatible: functions more, which nothing uses until the indexes of the next file are built.
--
-- مُحَمَّد was not found by محمد, nor שָׁלוֹם by שלום, and the other way round: vowel points and the tatweel, which lengthens a word, are left out as accents are, and the marks of
-- the direction of writing as what has no width. The geresh and gershayim of Hebrew (בע״מ) are often typed as quotation marks.

create function app.folded_letters_new(words text) returns text language plpgsql immutable strict parallel safe as $$
declare
  -- Without combining marks and vowel points, soft hyphens, the tatweel and what has no width.
  plain text := lower(regexp_replace(normalize(words, NFD),
    '[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u061c\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u00ad\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]',
    '', 'g'));
begin
  -- To look for them first costs a fifth of replacing them.
  if plain ~ '[øłıđςßæœ’‘ʼ“”׳״]' then
    plain := replace(replace(replace(translate(plain, 'øłıđς’‘ʼ“”׳״', 'olidσ''''''""''"'), 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe');
  end if;
  return plain;
end
$$;
grant execute on function app.folded_letters_new(text) to dealkeep_server;

create function app.folded_new(words text) returns text language sql immutable parallel safe
return case when octet_length(words) = length(words) then lower(words) else app.folded_letters_new(words) end;
grant execute on function app.folded_new(text) to dealkeep_server;

create function app.contact_words_new(display_name text, email text, phone text) returns text language sql immutable parallel safe
return app.folded_new(display_name || coalesce(' ' || email, '')) || coalesce(' ' || translate(lower(phone), ' +()-./', ''), '');
grant execute on function app.contact_words_new(text, text, text) to dealkeep_server;
