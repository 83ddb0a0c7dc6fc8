/** How messages name a backup: a file by its path, anything else without the credentials that its address may have. */
import type { Target } from "./target.ts";

export const shownName = (target: Pick<Target, "isSingle" | "label">, given: string, name: string): string =>
  target.isSingle && !/^s3:/i.test(given) ? given : `${name} in ${target.label}`;
