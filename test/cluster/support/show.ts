/** The numbers of a fault test in one line of its output: how much a pass has covered. */
export function show(fault: string, figures: object): void {
  console.log(`${fault}: ${JSON.stringify(figures)}`);
}
