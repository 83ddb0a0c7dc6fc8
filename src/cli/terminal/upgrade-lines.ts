/** What commands say when they upgrade a store: on stderr, as soon as it is known, because it may take long. */
import type { UpgradeLog } from "../../store/before-upgrade.ts";
import { escaped } from "./output.ts";

const say = (text: string): void => void process.stderr.write(`${escaped(text)}\n`);

export const UPGRADE_LINES: UpgradeLog = { info: say, warn: (text) => say(`Warning: ${text}`) };
