/**
 * Lint rules for money: where amounts are computed, nothing may become a float; in the web application, no text may
 * become a number.
 */

const conversions = new Set(['Number', 'parseFloat', 'parseInt', 'Math']);
const operators = new Set(['*', '/', '%', '**', '*=', '/=', '%=', '**=']);
const message =
  'Money is computed with server/domain/diligence/decimals.ts and with bigint, never with floats: see docs/books.md.';

const isBigInt = (node) => node.type === 'Literal' && typeof node.value === 'bigint';
const named = (node) => (node.type === 'MemberExpression' ? node.object : node);

/** Whether a product or quotient is of bigint: one side is a bigint literal, or is itself such a product. */
const isExact = (node) =>
  isBigInt(node) ||
  (node.type === 'UnaryExpression' && isExact(node.argument)) ||
  (node.type === 'BinaryExpression' && (isExact(node.left) || isExact(node.right)));

/**
 * Forbids floats: literals with a fraction, conversions to number, and products and quotients that are not of bigint.
 */
const exact = {
  meta: { type: 'problem', docs: { description: message } },
  create(context) {
    // In the arithmetic modules both operands are variables; the type checker keeps bigint and number apart.
    const isArithmetic = /(decimals|fractions)\.ts$/.test(context.filename);
    const report = (node) => context.report({ node, message });
    const check = (node) => {
      if (operators.has(node.operator) && !isArithmetic && !isExact(node.left) && !isExact(node.right)) report(node);
    };
    return {
      Literal(node) {
        if (typeof node.value === 'number' && !Number.isInteger(node.value)) report(node);
      },
      CallExpression(node) {
        const { callee } = node;
        const name = named(callee);
        if (name.type === 'Identifier' && conversions.has(name.name)) report(node);
        if (callee.type === 'MemberExpression' && callee.property.name === 'toFixed') report(node);
      },
      UnaryExpression(node) {
        if (node.operator === '+') report(node);
      },
      BinaryExpression: check,
      AssignmentExpression: check,
    };
  },
};

const kept =
  'Amounts are decimal strings: compute with web/src/lib/decimal.ts, draw with pixels.ts, and read counts with whole-number.ts.';
const fromText = new Set(['Number', 'parseFloat', 'parseInt']);
const comparisons = new Set(['===', '!==', '<', '<=', '>', '>=', '==', '!=', 'in', 'instanceof']);

/** Forbids converting to numbers what may be text; the result of a comparison may be converted. */
const text = {
  meta: { type: 'problem', docs: { description: kept } },
  create(context) {
    const report = (node) => context.report({ node, message: kept });
    return {
      CallExpression(node) {
        const { callee } = node;
        const [given] = node.arguments;
        const isOfNumber = callee.type === 'MemberExpression' && callee.object.name === 'Number';
        const name = isOfNumber ? callee.property.name : callee.name;
        const holds = given?.type === 'BinaryExpression' && comparisons.has(given.operator);
        if (fromText.has(name) && !holds) report(node);
        // `amounts.map(Number)`
        for (const one of node.arguments) if (one.type === 'Identifier' && fromText.has(one.name)) report(one);
      },
      UnaryExpression(node) {
        if (node.operator === '+') report(node);
      },
    };
  },
};

export default { meta: { name: 'exact' }, rules: { 'no-float': exact, 'no-number-of-text': text } };
