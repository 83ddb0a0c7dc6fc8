/** What differs between two objects, field by field. */
type Fields = Readonly<Record<string, unknown>>;

export interface Difference {
  readonly field: string;
  readonly before: unknown;
  readonly after: unknown;
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Fields whose value differs, with those inside objects named by their path: `plan.name`. */
export function differences(before: Fields, after: Fields, under = ""): Difference[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name) => {
    const [old, now] = [before[name], after[name]];
    if (isSame(old, now)) return [];
    const field = under + name;
    if (isFields(old) && isFields(now)) return differences(old, now, `${field}.`);
    return [{ field, before: old, after: now }];
  });
}

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
