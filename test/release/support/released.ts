/** The executable for this machine, as a release has it. Only full runs build it. */
import { buildBinaries } from "../../../scripts/release/binaries.ts";
import { factsOf } from "../../../scripts/release/facts.ts";
import { closeAtEndOfRun, IS_SHARING } from "../../support/run.ts";
import { removeFolder, tempFolder } from "../../support/temp.ts";

export const OWN_TARGET = `linux-${process.arch}`;

let shared: Promise<string> | undefined;

/** Its path: in `folder`, or where the files of a suite share it. */
export function ownExecutable(folder: string): Promise<string> {
  if (!IS_SHARING) return build(folder);
  shared ??= buildShared();
  return shared;
}

function buildShared(): Promise<string> {
  const folder = tempFolder();
  closeAtEndOfRun(async () => removeFolder(folder));
  return build(folder);
}

async function build(folder: string): Promise<string> {
  const [binary] = await buildBinaries(await factsOf("0.0.0"), folder, [OWN_TARGET]);
  if (!binary) throw new Error(`there is no executable for ${OWN_TARGET}`);
  return binary.file;
}
