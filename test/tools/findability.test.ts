/**
 * Each question finds the tool that answers it, ranked by names, descriptions and inputs as a host with many tools
 * does.
 */

import { expect, test } from 'vitest';
import { catalog, listedWith } from '../../server/tools/catalog/index.ts';
import { openRanking } from './bm25.ts';
import { questions } from './questions.ts';

interface Input {
  readonly description?: string;
  readonly enum?: readonly string[];
}

test.each([true, false])(
  'at least 60 questions find their tool: all but 10 first, all but two within three; features on: %s',
  (on) => {
    const tools = catalog.map((tool) => listedWith(tool, { findings: on, financing: on }));
    const rank = openRanking(
      tools.map(({ name, description = '', inputSchema }) => {
        const inputs = Object.entries((inputSchema.properties ?? {}) as Record<string, Input>);
        return [name, description, ...inputs.map(([input, { description: said = '' }]) => `${input} ${said}`)].join(
          ' ',
        );
      }),
    );
    expect(questions.length).toBeGreaterThanOrEqual(60);
    expect(new Set(questions.map(([question]) => question)).size).toBe(questions.length);
    expect(new Set(questions.map(([, tool]) => tool)).size).toBeGreaterThanOrEqual(19);
    // A tool that no question is about is at least found by its title.
    const unasked = tools.filter(({ name }) => !questions.some(([, tool]) => tool === name));
    expect(unasked.filter(({ name, title = '' }) => tools[rank(title)[0] ?? -1]?.name !== name)).toEqual([]);
    const placed = questions.map(([question, tool]) => {
      const found = rank(question).map((at) => tools[at]?.name ?? '');
      return { question, tool, place: found.indexOf(tool) + 1 || Infinity, found: found.slice(0, 3).join(' ') };
    });
    const beyond = (most: number) =>
      placed.filter(({ place }) => place > most).map(({ question, found }) => `${question} → ${found}`);
    expect(beyond(1).length, beyond(1).join('\n')).toBeLessThanOrEqual(10);
    expect(beyond(3).length, beyond(3).join('\n')).toBeLessThanOrEqual(2);
  },
);
