/** Weakened variants of SQL: conditions removed from expressions and from function bodies. */

/** One weakened variant of a text. */
export interface Variant {
  /** What was changed, for the report. */
  readonly what: string;
  readonly text: string;
}

interface Token {
  readonly text: string;
  readonly at: number;
  /** Number of parentheses and brackets open around the token; a parenthesis itself counts as outside. */
  readonly depth: number;
}

const pieces = /--[^\n]*|\/\*[^]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|[a-z_][a-z_0-9.]*|[0-9.]+|\s+|[^]/gi;

/** The words and symbols of SQL, without whitespace and comments. */
export function tokens(sql: string): Token[] {
  const found: Token[] = [];
  let depth = 0;
  for (const { 0: text, index: at } of sql.matchAll(pieces)) {
    if (/^(\s|--|\/\*)/.test(text)) continue;
    if (text === ')' || text === ']') depth -= 1;
    found.push({ text, at, depth });
    if (text === '(' || text === '[') depth += 1;
  }
  return found;
}

const short = (text: string): string => {
  const flat = text.replace(/\s+/g, ' ').trim();
  return flat.length <= 90 ? flat : `${flat.slice(0, 87)}…`;
};

/** Words that end a condition at the depth at which it began. */
const ends = new Set(
  (
    'and or then group order having returning limit union except for window loop else when end on ; , ' +
    'join left right cross inner full values do'
  ).split(' '),
);
const begins = new Set(['where', 'and', 'or', 'if', 'elsif', 'on', 'using', 'when', 'not', '(']);

interface Condition {
  readonly from: number;
  readonly to: number;
}

/** The condition that begins with token `first` and ends before the next word that ends a condition. */
function conditionAt(all: readonly Token[], first: number, length: number): Condition {
  const { depth } = all[first]!;
  let index = first;
  let cases = 0;
  for (; index < all.length; index += 1) {
    const token = all[index]!;
    if (token.depth < depth) break;
    if (token.depth > depth) continue;
    const word = token.text.toLowerCase();
    if (word === 'case') cases += 1;
    if (cases > 0) {
      if (word === 'end') cases -= 1;
      continue;
    }
    // The `and` of `x between a and b` does not end the condition.
    if (word === 'and' && index > first + 1 && /^between$/i.test(all[index - 2]!.text)) continue;
    if (index > first && ends.has(word)) break;
  }
  return { from: all[first]!.at, to: index < all.length ? all[index]!.at : length };
}

/**
 * Variants that each omit one condition: each joined by `and` or `or`, and each single condition after `where`. Accepts
 * expressions as PostgreSQL prints them, and function bodies.
 */
export function withoutConditions(sql: string): Variant[] {
  const all = tokens(sql);
  const variants: Variant[] = [];
  const leftOut = (what: string, from: number, to: number, put = ' ') =>
    variants.push({ what, text: `${sql.slice(0, from)}${put}${sql.slice(to)}` });

  all.forEach((token, index) => {
    const word = token.text.toLowerCase();
    const next = all[index + 1];
    if (!next) return;
    if (word === 'and' || word === 'or') {
      if (/^between$/i.test(all[index - 2]?.text ?? '')) return;
      const { from, to } = conditionAt(all, index + 1, sql.length);
      leftOut(`without "${word} ${short(sql.slice(from, to))}"`, token.at, to);
      // The first condition of the chain stands before its first `and` or `or`.
      const first = chainStart(all, index);
      if (first !== null) {
        const begin = all[first]!.at;
        leftOut(`without "${short(sql.slice(begin, token.at))} ${word}"`, begin, next.at);
      }
    }
    if (word === 'where') {
      const { from, to } = conditionAt(all, index + 1, sql.length);
      const following = all.find(({ at }) => at >= to)?.text.toLowerCase();
      if (following !== 'and' && following !== 'or')
        leftOut(`without "where ${short(sql.slice(from, to))}"`, token.at, to);
    }
  });
  return variants;
}

/**
 * Index of the first token of the chain of `and` or `or` conditions whose first such word is token `index`; null if
 * that word is not the chain's first, or joins no conditions.
 */
function chainStart(all: readonly Token[], index: number): number | null {
  const { depth } = all[index]!;
  let at = index - 1;
  for (; at >= 0; at -= 1) {
    const token = all[at]!;
    if (token.depth < depth) return at + 1 < index ? at + 1 : null;
    if (token.depth > depth) continue;
    const word = token.text.toLowerCase();
    // Not the first word of its chain, or preceded by a part of a CASE: where such a chain begins is not determined.
    if (word === 'and' || word === 'or' || word === 'end' || word === 'then' || word === 'else') return null;
    if (begins.has(word) && token.text !== '(' && word !== 'not') return at + 1;
    if (['return', 'select', 'set', ';', ','].includes(word)) return null;
    // `x := a and b`, `x => a and b`: a value that is assigned or passed, not a condition.
    if (word === '=' && (all[at - 1]?.text === ':' || all[at + 1]?.text === '>')) return null;
  }
  return 0;
}

/** Variants of each list of roles that is passed to a function: each role omitted in turn, and every role listed. */
export function withOtherRoles(sql: string, every: readonly string[]): Variant[] {
  const variants: Variant[] = [];
  const list = /(app\.\w+_as)\((VARIADIC ARRAY\[)?((?:'[a-z]+'(?:::text)?(?:, )?)+)(\])?\)/g;
  for (const { 0: whole, 1: name = '', 2: open = '', 3: listed = '', 4: close = '', index } of sql.matchAll(list)) {
    const roles = listed.split(', ');
    const put = (what: string, chosen: readonly string[]) => {
      const call = `${name}(${open}${chosen.join(', ')}${close})`;
      variants.push({ what, text: sql.slice(0, index) + call + sql.slice(index + whole.length) });
    };
    if (roles.length > 1)
      for (const role of roles)
        put(
          `${name}(…) without ${role.replace('::text', '')}`,
          roles.filter((other) => other !== role),
        );
    const cast = roles[0]!.endsWith('::text') ? '::text' : '';
    const all = (name.includes('brokerages') ? ['admin', 'broker', 'staff'] : every).map((role) => `'${role}'${cast}`);
    if (all.some((role) => !roles.includes(role))) put(`${name}(…) as every role instead of ${listed}`, all);
  }
  return variants;
}

/** Variants in which one branch of an `if` or `elsif` is never taken. */
export function withoutBranches(sql: string): Variant[] {
  const all = tokens(sql);
  const variants: Variant[] = [];
  all.forEach((token, index) => {
    const word = token.text.toLowerCase();
    if ((word !== 'if' && word !== 'elsif') || /^end$/i.test(all[index - 1]?.text ?? '')) return;
    const then = all.findIndex((other, at) => at > index && other.depth === token.depth && /^then$/i.test(other.text));
    const first = all[index + 1];
    if (then < 0 || !first) return;
    const condition = sql.slice(first.at, all[then]!.at);
    variants.push({
      what: `never "${word} ${short(condition)}"`,
      text: `${sql.slice(0, first.at)}false ${sql.slice(all[then]!.at)}`,
    });
  });
  return variants;
}

/** Variants that each omit one `perform` of another function, except of those that refuse or write the audit trail. */
export function withoutCalls(sql: string): Variant[] {
  return [...sql.matchAll(/perform ((?:app|vault)\.\w+)\([^;]*;/g)]
    .filter(([, name = '']) => !/app\.(refuse|audit|audit_family|record)$/.test(name))
    .map(({ 0: call, index }) => ({
      what: `without "${short(call)}"`,
      text: `${sql.slice(0, index)}null;${sql.slice(index + call.length)}`,
    }));
}

/** Variants that each omit one `delete` or `update` statement, as if it had affected no rows. */
export function withoutStatements(sql: string): Variant[] {
  return [...sql.matchAll(/^ *(delete from|update) [^;]*;/gm)].map(({ 0: statement, index }) => ({
    what: `without "${short(statement)}"`,
    text: `${sql.slice(0, index)}  null;${sql.slice(index + statement.length)}`,
  }));
}
