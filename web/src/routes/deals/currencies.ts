/** The currencies that a deal can be in: these, which brokerages use most, come first, then all others. */
const first = ['USD', 'EUR', 'GBP', 'CAD', 'AUD', 'CHF'];

const names = new Intl.DisplayNames(undefined, { type: 'currency' });
const rest = Intl.supportedValuesOf('currency').filter((code) => !first.includes(code));

export const currencies = [...first, ...rest].map((code) => ({
  value: code,
  label: `${code} – ${names.of(code) ?? code}`,
}));
