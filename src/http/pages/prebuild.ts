/** Builds the pages ahead of the first start, for images whose folders are read-only at run time. */
import { loadBundle } from "./bundle.ts";

await loadBundle();
