/** A lint rule for code that computes with money: nothing in it may become a float. */

const conversions = new Set(['Number', 'parseFloat', 'parseInt', 'Math']);
const operators = new Set(['*', '/', '%', '**', '*=', '/=', '%=', '**=']);
const message =
  'Money is computed with server/domain/diligence/decimals.ts and with bigint, never with floats: see docs/books.md.';

const isBigInt = (node) => node.type === 'Literal' && typeof node.value === 'bigint';
const named = (node) => (node.type === 'MemberExpression' ? node.object : node);

/** Whether a product or quotient is of integers: one side is written as one, or is itself such a product. */
const isExact = (node) =>
  isBigInt(node) ||
  (node.type === 'UnaryExpression' && isExact(node.argument)) ||
  (node.type === 'BinaryExpression' && (isExact(node.left) || isExact(node.right)));

/** Forbids floats: numbers with a fraction, their conversions, and products and quotients that are not of bigint. */
const exact = {
  meta: { type: 'problem', docs: { description: message } },
  create(context) {
    // Types keep bigint and number apart; in the arithmetic itself both operands are variables.
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

export default { meta: { name: 'exact' }, rules: { 'no-float': exact } };
