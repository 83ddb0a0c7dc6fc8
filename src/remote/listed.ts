/** The type of a list of the methods of a contract: all asynchronous ones, and no other. */
type Asynchronous<T> = {
  [K in keyof T]-?: T[K] extends (...args: never[]) => Promise<unknown> ? K : never;
}[keyof T];
export type Listed<T, Not extends keyof T = never> = Readonly<Record<Exclude<Asynchronous<T>, Not>, true>>;
