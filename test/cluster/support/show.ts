/** Figures of a fault in one line of the test's output: what a pass was worth. */
export function show(fault: string, figures: object): void {
  console.log(`${fault}: ${JSON.stringify(figures)}`);
}
