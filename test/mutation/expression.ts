/** Weakened forms of SQL: conditions taken out of expressions and of the bodies of functions. */

/** One way to weaken a text. */
export interface Variant {
  /** What was done, for people. */
  readonly what: string;
  readonly text: string;
}

interface Token {
  readonly text: string;
  readonly at: number;
  /** How many parentheses are open around it; those of `(` and `)` themselves are outside. */
  readonly depth: number;
}

const pieces = /--[^\n]*|\/\*[^]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|[a-z_][a-z_0-9.]*|[0-9.]+|\s+|[^]/gi;

/** The words and signs of SQL, without space and comments. */
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

/** What ends a condition, at the depth at which it began. */
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

/** The condition that begins with token `first`: as far as the next word that ends one. */
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
    // `x between a and b`, `is distinct from …` and `for update` within a condition: only the first takes an `and`.
    if (word === 'and' && index > first + 1 && /^between$/i.test(all[index - 2]!.text)) continue;
    if (index > first && ends.has(word)) break;
  }
  return { from: all[first]!.at, to: index < all.length ? all[index]!.at : length };
}

/**
 * Every condition joined by `and` or `or`, and every lone one after `where`, left out in turn. Works on what PostgreSQL
 * prints of an expression, and on the text of a function.
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
      // What comes before the first of a chain: as far back as the chain reaches.
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

/** The token with which the chain of `and` or `or` begins whose first such word is token `index`; else null. */
function chainStart(all: readonly Token[], index: number): number | null {
  const { depth } = all[index]!;
  let at = index - 1;
  for (; at >= 0; at -= 1) {
    const token = all[at]!;
    if (token.depth < depth) return at + 1 < index ? at + 1 : null;
    if (token.depth > depth) continue;
    const word = token.text.toLowerCase();
    // Not the first of its chain, or within a CASE, where what stands before is distinguished by hand.
    if (word === 'and' || word === 'or' || word === 'end' || word === 'then' || word === 'else') return null;
    if (begins.has(word) && token.text !== '(' && word !== 'not') return at + 1;
    if (['return', 'select', 'set', ';', ','].includes(word)) return null;
    // `x := a and b`, `x => a and b`: what is given, and no condition of its own.
    if (word === '=' && (all[at - 1]?.text === ':' || all[at + 1]?.text === '>')) return null;
  }
  return 0;
}

/** Each role of a list, as functions take it, left out; and the list made to hold every role. */
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

/** Each branch of an `if` or `elsif` that is never taken. */
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

/** Each `perform` of another function left out, but for those that refuse or write the audit trail. */
export function withoutCalls(sql: string): Variant[] {
  return [...sql.matchAll(/perform ((?:app|vault)\.\w+)\([^;]*;/g)]
    .filter(([, name = '']) => !/app\.(refuse|audit|audit_family|record)$/.test(name))
    .map(({ 0: call, index }) => ({
      what: `without "${short(call)}"`,
      text: `${sql.slice(0, index)}null;${sql.slice(index + call.length)}`,
    }));
}

/** Each statement that deletes or updates something left out; its row count is then that of nothing. */
export function withoutStatements(sql: string): Variant[] {
  return [...sql.matchAll(/^ *(delete from|update) [^;]*;/gm)].map(({ 0: statement, index }) => ({
    what: `without "${short(statement)}"`,
    text: `${sql.slice(0, index)}  null;${sql.slice(index + statement.length)}`,
  }));
}
