/** Patterns of a key, and a token's pattern that is as costly to compare with them as possible. */

/**
 * Each edge of a graph is a '**' that contains a slash or not; each vertex has patterns for every wrong number of slashes around
 * it. With an odd sum no choice fits every vertex, and that can only be found by trying.
 */
export function oddGraph(vertices: number): { patterns: string[]; part: string } {
  const names = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const steps = [1, Math.floor(vertices / 2)];
  // A ring with chords, with the edges ordered so that neighbours are far apart.
  const edges = steps
    .flatMap((step) =>
      Array.from({ length: step === 1 ? vertices : vertices / 2 }, (_, v) => [v, (v + step) % vertices]),
    )
    .map((edge, i) => ({ edge, at: (i * 11) % 37 }))
    .sort((one, other) => one.at - other.at)
    .map(({ edge }) => edge);
  const woven = (gaps: (edge: number) => string): string =>
    edges.map((_, i) => `${names[i]}${gaps(i)}`).join("") + names[edges.length];
  const patterns = Array.from({ length: vertices }, (_, vertex) => {
    const around = edges.flatMap((edge, i) => (edge.includes(vertex) ? [i] : []));
    return Array.from({ length: 8 }, (_, choice) => choice)
      .filter((choice) => choice.toString(2).replaceAll("0", "").length % 2 === (vertex === 0 ? 0 : 1))
      .map((choice) => woven((i) => (!around.includes(i) ? "**" : (choice >> around.indexOf(i)) & 1 ? "**/*" : "*")));
  }).flat();
  return { patterns, part: woven(() => "**") };
}
