/** The suite of all transports over Unix sockets, and what is particular to them. */
import { afterAll } from "bun:test";
import { transportSuite } from "../testing/transport.suite.ts";
import { UnixFolder } from "../testing/unix-folder.ts";

const folder = new UnixFolder();
afterAll(() => folder.remove());

transportSuite("Unix sockets", {
  connect: () => folder.join(),
  startOutage: () => folder.startOutage(),
  endOutage: () => folder.endOutage(),
});
