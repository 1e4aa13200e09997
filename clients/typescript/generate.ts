/**
 * Writes `src/generated.ts` from an OpenAPI document: a type for each schema, a method for each operation. Not openapi-typescript
 * or hey-api, which need the programming interface of TypeScript 5, which TypeScript 7 does not have: they would bring a second compiler.
 */

import { format } from 'prettier';
import type { JsonSchema } from '../../server/rest/json-schema.ts';

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
}

interface Body {
  readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>>;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Body;
  readonly responses: Readonly<Record<string, Body>>;
}

export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

const refName = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1);

const comment = (text: string | undefined): string => (text ? `/** ${text.replaceAll('*/', '*\\/')} */\n` : '');

const isNull = ({ type }: JsonSchema): boolean => type === 'null';

const word: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
};

function objectType({ properties = {}, required = [], additionalProperties }: JsonSchema): string {
  const names = Object.entries(properties);
  if (names.length === 0)
    return typeof additionalProperties === 'object'
      ? `Record<string, ${typeOf(additionalProperties)}>`
      : 'Record<string, unknown>';
  const lines = names.map(([name, part]) => {
    const optional = required.includes(name) ? '' : '?';
    return `${comment(part.description)}${JSON.stringify(name)}${optional}: ${typeOf(part)}${optional ? ' | undefined' : ''};\n`;
  });
  return `{\n${lines.join('')}}`;
}

/** The type of the values of a schema. */
function typeOf(schema: JsonSchema): string {
  if (schema.$ref !== undefined) return refName(schema.$ref);
  if ('const' in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.allOf) return schema.allOf.map((part) => `(${typeOf(part)})`).join(' & ');
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) {
    const hasWords = choices.some((part) => part.enum !== undefined);
    // Beside words a plain string would take them in, and editors would offer none.
    const choiceOf = (part: JsonSchema) =>
      hasWords && part.type === 'string' && part.enum === undefined ? 'string & {}' : typeOf(part);
    return choices
      .toSorted((one, other) => Number(isNull(one)) - Number(isNull(other)))
      .map((part) => `(${choiceOf(part)})`)
      .join(' | ');
  }
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? []);
  const written = types.map((type) => {
    if (type === 'object') return objectType(schema);
    if (type === 'array') return `(${typeOf(schema.items ?? {})})[]`;
    return word[type] ?? 'unknown';
  });
  return written.length === 0 ? 'unknown' : written.join(' | ');
}

/** The name of a header in the input: `Idempotency-Key` is `idempotencyKey`. */
const inputName = ({ name, in: where }: Parameter): string =>
  where === 'header' ? name.toLowerCase().replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase()) : name;

const jsonOf = (body: Body | undefined): JsonSchema | undefined =>
  Object.entries(body?.content ?? {}).find(([type]) => /json/.test(type))?.[1].schema;

/** The output of a successful operation: the type of its JSON, the whole response if it is not JSON, or nothing. */
function outputOf({ responses }: Operation): string {
  const good = Object.entries(responses).filter(([status]) => status.startsWith('2'));
  const types = good.map(([, answer]) => {
    const schema = jsonOf(answer);
    if (schema) return typeOf(schema);
    return answer.content ? 'Response' : 'undefined';
  });
  return [...new Set(types)].join(' | ') || 'undefined';
}

interface Call {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
  readonly parameters: readonly Parameter[];
}

/** Every operation, without the parameters that the client sets itself. */
const callsOf = ({ paths }: OpenApiDocument): Call[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operation,
      parameters: (operation.parameters ?? []).filter(({ name }) => name !== 'If-None-Match'),
    })),
  );

function inputOf({ operation, parameters }: Call): { type: string; isOptional: boolean } {
  const lines = parameters.map((parameter) => {
    const optional = parameter.in === 'path' || parameter.required ? '' : '?';
    return `${comment(parameter.description)}${inputName(parameter)}${optional}: ${typeOf(parameter.schema)}${optional ? ' | undefined' : ''};\n`;
  });
  const { requestBody } = operation;
  const body = jsonOf(requestBody);
  if (body) lines.push(`body: ${typeOf(body)};\n`);
  else if (requestBody) lines.push('body: NonNullable<RequestInit["body"]>;\n');
  return { type: `{\n${lines.join('')}}`, isOptional: lines.every((line) => line.includes('?: ')) };
}

/** The header names, by their names in the input. */
function entryOf(call: Call): string {
  const { method, path, operation, parameters } = call;
  const of = (where: string) =>
    Object.fromEntries(parameters.filter((one) => one.in === where).map((one) => [inputName(one), one.name]));
  const types = Object.keys(operation.requestBody?.content ?? {});
  const body = types.find((type) => /json/.test(type)) ?? types[0] ?? null;
  const output = outputOf(operation);
  const answers = { ...(output === 'Response' && { isFile: true }), ...(output === 'undefined' && { isEmpty: true }) };
  const route = { method, path, query: of('query'), headers: of('header'), body, ...answers };
  return `${operation.operationId}: ${JSON.stringify(route)},\n`;
}

function methodOf(call: Call): string {
  const { operationId: id, summary, description, deprecated } = call.operation;
  const { isOptional } = inputOf(call);
  const text =
    [summary, description].filter(Boolean).join('. ').replaceAll('..', '.') + (deprecated ? ' @deprecated' : '');
  return `${comment(text)}${id}(input: Operations['${id}']['input']${isOptional ? ' = {}' : ''}, options?: CallOptions): Promise<Operations['${id}']['output']> {
    return this.call('${id}', input, options);
  }\n`;
}

/** The operations that return pages, with `cursor` among their parameters. */
const isList = ({ operation, parameters }: Call): boolean =>
  parameters.some(({ name }) => name === 'cursor') && operation.responses['200'] !== undefined;

/** The text of `src/generated.ts`. */
export function generate(document: OpenApiDocument): Promise<string> {
  const calls = callsOf(document);
  const types = Object.entries(document.components.schemas)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, schema]) => `${comment(schema.description)}export type ${name} = ${typeOf(schema)};\n`);
  const described = calls.map(
    (call) => `${call.operation.operationId}: { input: ${inputOf(call).type}; output: ${outputOf(call.operation)} };\n`,
  );
  const lists = calls.filter(isList).map(({ operation }) => JSON.stringify(operation.operationId));
  const text = `/** Generated from the OpenAPI document by \`npm run client\`: change the declarations of the operations instead. */

import type { CallOptions } from './options.ts';

${types.join('\n')}
/** The input and output of each operation. */
export interface Operations {
${described.join('')}}

/** The operations that return pages. */
export type ListName = ${lists.join(' | ')};

/** How each operation is sent; the keys of \`headers\` and \`query\` are names of the input. */
export const operations = {
${calls.map(entryOf).join('')}} as const;

/** A method for each operation. */
export abstract class Calls {
  protected abstract call<Name extends keyof Operations>(
    name: Name,
    input: Operations[Name]['input'],
    options?: CallOptions,
  ): Promise<Operations[Name]['output']>;

${calls.map(methodOf).join('\n')}}
`;
  return format(text, { parser: 'typescript', printWidth: 120, singleQuote: true });
}
