/** `parley reload`: replaces the workers of the service on this machine, one after another. */
import { loadForDataFolder } from "../../../config/load.ts";
import { connectLines } from "../../../workers/lines.ts";
import type { FromWorker, ToWorker } from "../../../workers/messages.ts";
import { announcedFolder, controlSocket } from "../../../workers/run-folder.ts";
import type { CommandResult } from "../../line/command.ts";
import { Failure } from "../../line/errors.ts";
import type { Input } from "../../line/input.ts";

export async function reload({ flags, env }: Input): Promise<CommandResult> {
  const { data } = loadForDataFolder(flags, env).config;
  const workers = await ask(data);
  return { value: { workers }, text: `${workers} workers replaced\n` };
}

async function ask(data: string): Promise<number> {
  const folder = announcedFolder(data);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const lines =
    folder !== undefined &&
    (await connectLines<ToWorker, FromWorker>(controlSocket(folder), {
      received: (message) => {
        if (message.type === "reloaded") resolve(message.workers);
        if (message.type === "refused") reject(new Failure("refused", message.message));
      },
      closed: () => reject(new Failure("ended", "the service stopped before all workers were replaced")),
    }).catch(() => false as const));
  if (!lines)
    throw new Failure(
      "not_running",
      `no service with several workers was found for the data folder ${data} (parley up --workers); choose another folder with --data, run this as the service's user or root, or send SIGUSR2 to the service, which does the same`,
    );
  lines.send({ type: "reload" });
  return promise;
}
