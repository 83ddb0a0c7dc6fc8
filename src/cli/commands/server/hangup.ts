/**
 * SIGHUP has two causes: an operator wants the certificate to be read again, or the terminal of the server was closed. Without a
 * difference between them, a server whose window was closed would go on unseen, and keep its port and its data folder.
 */
import { isatty } from "node:tty";

/** Standard input, output and error. `nohup` and service managers leave none of them on a terminal, so such a server goes on. */
const DESCRIPTORS: readonly number[] = [0, 1, 2];

/** To be called when the process starts: whether a terminal was there cannot be seen afterwards. */
export function onHangup(reload: () => void, terminalClosed: () => void): void {
  const terminals = DESCRIPTORS.filter(isatty);
  process.on("SIGHUP", () => {
    // A terminal that was closed is none any more.
    const isClosed = terminals.length > 0 && !terminals.some(isatty);
    if (isClosed) terminalClosed();
    else reload();
  });
}
