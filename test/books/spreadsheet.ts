/** Evaluates a CSV spreadsheet whose cells may be formulas, in exact fractions and without any code of the product. */

interface Fraction {
  readonly over: bigint;
  readonly under: bigint;
}

const of = (over: bigint, under = 1n): Fraction => (under < 0n ? { over: -over, under: -under } : { over, under });
const plus = (a: Fraction, b: Fraction): Fraction => of(a.over * b.under + b.over * a.under, a.under * b.under);
const times = (a: Fraction, b: Fraction): Fraction => of(a.over * b.over, a.under * b.under);
const minus = (a: Fraction): Fraction => of(-a.over, a.under);

const number = (text: string): Fraction => {
  const [whole = '', places = ''] = text.split('.');
  return of(BigInt(whole + places), 10n ** BigInt(places.length));
};

/** Rounds half away from zero, as spreadsheets do. */
function round(value: Fraction, places: bigint): Fraction {
  const size = (value.over < 0n ? -value.over : value.over) * 10n ** places;
  const units = (size * 2n + value.under) / (value.under * 2n);
  return of(value.over < 0n ? -units : units, 10n ** places);
}

const cellName = /^([A-Z]+)(\d+)$/;
const columnOf = (letters: string): number =>
  [...letters].reduce((place, letter) => place * 26 + letter.charCodeAt(0) - 64, 0) - 1;

export class Spreadsheet {
  readonly #rows: string[][];

  constructor(csv: string) {
    this.#rows = csv
      .split('\n')
      .map((line) => [...line.matchAll(/("[^"]*"|[^,]*)(?:,|$)/g)].map(([, cell = '']) => cell.replace(/^"|"$/g, '')));
  }

  /** The values of row `label` in the block whose first cell is `block`, by the names in the block's first row. */
  row(block: string, label: string): Map<string, string> {
    const top = this.#rows.findIndex(([name]) => name === block);
    const at = this.#rows.findIndex(([name], place) => place > top && name === label);
    if (top < 0 || at < 0) throw new Error(`${block} has no ${label}`);
    const names = this.#rows[top] ?? [];
    return new Map(names.slice(1).map((name, place) => [name, this.value(at, place + 1)]));
  }

  blocks(): string[] {
    return this.#rows
      .flatMap(([name = ''], place) => (place === 0 || this.#rows[place - 1]?.[0] === '' ? [name] : []))
      .filter((name) => name !== '');
  }

  /** The value of a cell as a decimal without trailing zeros; '' if the cell is empty. */
  value(row: number, column: number): string {
    if ((this.#rows[row]?.[column] ?? '') === '') return '';
    const value = this.#at(row, column);
    const digits = 12n;
    const { over } = round(value, digits);
    if (over * value.under !== value.over * 10n ** digits) throw new Error('a cell that is not rounded');
    const size = (over < 0n ? -over : over).toString().padStart(13, '0');
    const fraction = size.slice(-12).replace(/0+$/, '');
    return `${over < 0n ? '-' : ''}${size.slice(0, -12)}${fraction === '' ? '' : `.${fraction}`}`;
  }

  #at(row: number, column: number): Fraction {
    const text = this.#rows[row]?.[column] ?? '';
    if (text.startsWith('=')) return this.#formula(text.slice(1));
    return text.startsWith('-') ? minus(number(text.slice(1))) : number(text);
  }

  #named(name: string): Fraction {
    const [, letters = '', digits = ''] = cellName.exec(name) ?? [];
    return this.#at(Number(digits) - 1, columnOf(letters));
  }

  #range(text: string): Fraction[] {
    const [from = '', to = from] = text.split(':');
    const [, first = '', top = ''] = cellName.exec(from) ?? [];
    const [, last = '', bottom = ''] = cellName.exec(to) ?? [];
    const found: Fraction[] = [];
    for (let row = Number(top); row <= Number(bottom); row += 1)
      for (let column = columnOf(first); column <= columnOf(last); column += 1) found.push(this.#at(row - 1, column));
    return found;
  }

  /** Evaluates `+ - * /`, parentheses, cells, and SUM, SUMSQ, ROUND and MAX. */
  #formula(text: string): Fraction {
    const tokens = text.match(/[A-Z]+\d+(?::[A-Z]+\d+)?|[A-Z]+(?=\()|\d+(?:\.\d+)?|[-+*/(),]/g) ?? [];
    let place = 0;
    const take = (): string => tokens[place++] ?? '';
    const call = (name: string): Fraction => {
      take();
      if (name.startsWith('SUM')) {
        const values = this.#range(take());
        take();
        return values.reduce((all, one) => plus(all, name === 'SUM' ? one : times(one, one)), of(0n));
      }
      const first = expression();
      take();
      const second = expression();
      take();
      if (name === 'ROUND') return round(first, second.over / second.under);
      return plus(first, minus(second)).over > 0n ? first : second;
    };
    const factor = (): Fraction => {
      const token = take();
      if (token === '-') return minus(factor());
      if (token === '(') {
        const inner = expression();
        take();
        return inner;
      }
      if (/^\d/.test(token)) return number(token);
      return cellName.test(token) ? this.#named(token) : call(token);
    };
    const term = (): Fraction => {
      let value = factor();
      while (tokens[place] === '*' || tokens[place] === '/') {
        const sign = take();
        const other = factor();
        value = times(value, sign === '*' ? other : of(other.under, other.over));
      }
      return value;
    };
    const expression = (): Fraction => {
      let value = term();
      while (tokens[place] === '+' || tokens[place] === '-')
        value = plus(value, take() === '+' ? term() : minus(term()));
      return value;
    };
    return expression();
  }
}
