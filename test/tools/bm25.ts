/** Ranks texts by BM25 (Robertson and Zaragoza, 2009; k1 1.2, b 0.75), as hosts do to find a tool among many. */

const words = (text: string): string[] =>
  (text.toLowerCase().match(/[a-z0-9]+/g) ?? []).map((word) =>
    word.length > 3 ? word.replace(/ies$/, 'y').replace(/([^s])s$/, '$1') : word,
  );

/** Returns a function that gives the indexes of the texts that contain a word of a question, best first. */
export function openRanking(texts: readonly string[]): (question: string) => number[] {
  const documents = texts.map(words);
  const average = documents.reduce((sum, { length }) => sum + length, 0) / documents.length;
  const counts = documents.map((document) => Map.groupBy(document, (word) => word));
  const weight = (word: string): number => {
    const having = counts.filter((count) => count.has(word)).length;
    return Math.log(1 + (documents.length - having + 0.5) / (having + 0.5));
  };
  return (question) => {
    const asked = [...new Set(words(question))].map((word) => [word, weight(word)] as const);
    const scores = counts.map((count, at) =>
      asked.reduce((sum, [word, rarity]) => {
        const often = count.get(word)?.length ?? 0;
        const length = (documents[at]?.length ?? 0) / average;
        return sum + (rarity * often * 2.2) / (often + 1.2 * (0.25 + 0.75 * length));
      }, 0),
    );
    const order = scores.map((score, at) => [score, at] as const).filter(([score]) => score > 0);
    return order.toSorted(([a], [b]) => b - a).map(([, at]) => at);
  };
}
