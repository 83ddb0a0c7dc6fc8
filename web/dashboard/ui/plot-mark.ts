/** The line of the crosshair in one plot, its text, and the pointer that moves it. */
import type uPlot from "uplot";
import { clock } from "../text/format.ts";

export class Mark {
  private readonly box = document.createElement("div");

  /** `point` gets the step that is pointed at. A finger leaves it there when it is lifted; the next touch elsewhere takes it away. */
  constructor(
    private readonly plot: uPlot,
    point: (step: number | undefined) => void,
  ) {
    const { over } = plot;
    this.box.className = "chart-tip";
    this.box.hidden = true;
    over.append(this.box);
    const follow = ({ clientX }: PointerEvent): void =>
      point(plot.posToIdx(clientX - over.getBoundingClientRect().left));
    over.addEventListener("pointerdown", follow);
    over.addEventListener("pointermove", follow);
    over.addEventListener("pointerleave", ({ pointerType }) => {
      if (pointerType === "mouse") point(undefined);
    });
  }

  /** `lines`: the text beside the line, in the chart that is pointed at. */
  place(step: number | undefined, lines: readonly string[]): void {
    const { plot, box } = this;
    const at = step === undefined ? undefined : plot.data[0][step];
    const left = at === undefined ? -10 : plot.valToPos(at, "x");
    plot.setCursor({ left, top: at === undefined ? -10 : 0 });
    box.hidden = at === undefined || lines.length === 0;
    if (at === undefined || box.hidden) return;
    box.textContent = [clock(at * 1000), ...lines].join("\n");
    const beside = left + 12 + box.offsetWidth > plot.over.clientWidth ? left - 12 - box.offsetWidth : left + 12;
    box.style.left = `${Math.max(0, beside)}px`;
  }
}
