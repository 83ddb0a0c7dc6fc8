/** Rates have two decimals: they are estimates over a few seconds. */
export const rounded = (rate: number): number => Math.round(rate * 100) / 100;
