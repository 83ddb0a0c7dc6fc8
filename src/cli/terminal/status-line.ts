/** What a long command is doing: on a terminal one line that is rewritten, elsewhere a line every ten seconds at most. */
import type { Terminal } from "./progress.ts";

const REWRITE_EVERY_MS = 100;
const LINE_EVERY_MS = 10_000;

export class StatusLine {
  private shownMs: number;

  constructor(
    private readonly isQuiet: boolean,
    private readonly terminal: Terminal = process.stderr,
    private readonly nowMs: () => number = () => performance.now(),
  ) {
    // A command that ends within ten seconds writes nothing to a log.
    this.shownMs = terminal.isTTY ? Number.NEGATIVE_INFINITY : nowMs();
  }

  at(text: string): void {
    const { terminal } = this;
    const now = this.nowMs();
    const everyMs = terminal.isTTY ? REWRITE_EVERY_MS : LINE_EVERY_MS;
    if (this.isQuiet || now - this.shownMs < everyMs) return;
    this.shownMs = now;
    // A line that wraps could not be overwritten. `columns` is 0 if the width is unknown.
    const fit = text.slice(0, Math.max(10, (terminal.columns || 80) - 1));
    terminal.write(terminal.isTTY ? `\r\u001b[K${fit}` : `${text}\n`);
  }

  /** Clears the line, so that further output takes its place. */
  end(): void {
    if (this.terminal.isTTY && Number.isFinite(this.shownMs)) this.terminal.write("\r\u001b[K");
    this.shownMs = Number.NEGATIVE_INFINITY;
  }

  [Symbol.dispose](): void {
    this.end();
  }
}
