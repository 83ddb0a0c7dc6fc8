/** For tests: payloads that show whether they are whole. */

/** A name, a number, and a checksum of the filling. */
export function payloadOf(name: string, n: number, length: number): string {
  const filling = String.fromCharCode(97 + (n % 26)).repeat(length);
  return `${name} ${n} ${Bun.hash.crc32(filling)} ${filling}`;
}

export function isWhole(text: string): boolean {
  const [, , sum, filling, ...more] = text.split(" ");
  return more.length === 0 && filling !== undefined && Bun.hash.crc32(filling) === Number(sum);
}

export const numberOf = (text: string): { readonly name: string; readonly n: number } => {
  const [name = "", n] = text.split(" ", 2);
  return { name, n: Number(n) };
};
