/** Writes lines in their order, as fast as their reader takes them. */
import { Failure } from "../line/errors.ts";
import { write } from "./output.ts";

/** A reader that is paused for longer than this lasts must not cost all memory. */
const WAITING_MAX_CHARS = 64 * 1024 * 1024;

export class LineWriter {
  private waiting = "";
  private writing: Promise<void> | undefined;

  constructor(private readonly to: Bun.BunFile) {}

  /** `text` is whole lines, or "". Throws if too much waits. */
  add(text: string): void {
    if (text === "") return;
    this.waiting += text;
    if (this.waiting.length > WAITING_MAX_CHARS)
      throw new Failure("slow_reader", "the program reading this output is too slow: 64 MiB are waiting");
    this.writing ??= this.write();
  }

  /** Resolves when everything is written. */
  async done(): Promise<void> {
    await this.writing;
  }

  private async write(): Promise<void> {
    while (this.waiting !== "") {
      const text = this.waiting;
      this.waiting = "";
      await write(this.to, text);
    }
    this.writing = undefined;
  }
}
