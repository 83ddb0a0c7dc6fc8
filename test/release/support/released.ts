/** The executable for this machine, as a release has it. Only full runs build it. */
import { buildBinaries } from "../../../scripts/release/binaries.ts";
import { factsOf } from "../../../scripts/release/facts.ts";

/** Builds it into `folder`, and returns its path. */
export async function ownExecutable(folder: string): Promise<string> {
  const target = `linux-${process.arch}`;
  const [binary] = await buildBinaries(await factsOf("0.0.0"), folder, [target]);
  if (!binary) throw new Error(`there is no executable for ${target}`);
  return binary.file;
}
