/**
 * What more than one script of pages needs. Each of them imports this file, as main.tsx does: the bundler makes one file for all modules that
 * the same scripts need, and without it these would be twenty files of one kilobyte.
 */
import "../../../src/protocol/actions.ts";
import "../address/links.ts";
import "../address/public-address.ts";
import "../drafts/draft.ts";
import "../drafts/rule-draft.ts";
import "../drafts/scope.ts";
import "../live/crosshair.ts";
import "../live/meetings.ts";
import "../live/nodes.ts";
import "../live/origin.ts";
import "../live/plots.ts";
import "../live/recordings.ts";
import "../live/series.ts";
import "../live/totals.ts";
import "../pages/keys/snippets.ts";
import "../pages/not-found.tsx";
import "../text/format.ts";
import "../text/in-text.ts";
import "../text/terms.ts";
import "../ui/bar.tsx";
import "../ui/byte-limit.tsx";
import "../ui/chart.tsx";
import "../ui/download.tsx";
import "../ui/list-foot.tsx";
import "../ui/node-badges.tsx";
import "../ui/range.tsx";
import "../ui/table.tsx";
import "../ui/term.tsx";
import "../ui/values.tsx";
