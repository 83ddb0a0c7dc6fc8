/** The overview of the service or of one application: numbers, charts, refusals, nodes and the busiest channels. */
import { type PageParameters, parameters, setParameters } from "../../address/router.ts";
import type { Range } from "../../api/types.ts";
import { RANGES } from "../../api/types.ts";
import { apps, currentApp } from "../../live/apps.ts";
import { useNodes } from "../../live/nodes.ts";
import { useSeries } from "../../live/series.ts";
import { Segmented } from "../../ui/fields.tsx";
import { Page } from "../../ui/page.tsx";
import { NotFound } from "../not-found.tsx";
import { Charts, Numbers } from "./charts.tsx";
import { FirstApplication, useFirstSteps } from "./first-steps.tsx";
import { BusiestChannels, NodesAtAGlance, Refusals } from "./lists.tsx";

const RANGE_TITLES: Readonly<Record<Range, string>> = { "15m": "15 min", "3h": "3 h", "24h": "24 h" };
const NODES_MS = 5000;

const rangeOf = (text: string | null): Range => RANGES.find((one) => one === text) ?? "15m";

export function Overview({ at }: { readonly at: PageParameters }) {
  const app = currentApp.value;
  const chosen = rangeOf(parameters.value.get("range"));
  const { data, range, error } = useSeries(app?._id, chosen);
  const nodes = useNodes(NODES_MS);
  const firstSteps = useFirstSteps(app);
  if (at.app !== undefined && !app) return <NotFound />;
  return (
    <Page
      title="Overview"
      actions={
        <Segmented
          label="Range"
          value={chosen}
          options={RANGES.map((one) => [one, RANGE_TITLES[one]] as const)}
          onChange={(one) => setParameters({ range: one === "15m" ? "" : one })}
        />
      }
      isReady={data !== undefined && nodes.data !== undefined && firstSteps.isReady}
      error={error ?? nodes.error}
      isComplete={nodes.isComplete && data?.connections.isComplete !== false}
    >
      {firstSteps.shown}
      {apps.value?.length === 0 && <FirstApplication />}
      {data && (
        <>
          <Numbers data={data} range={range} />
          <Charts
            data={data}
            range={range}
            last={<NodesAtAGlance nodes={nodes.data ?? []} />}
            beside={<Refusals series={data.refusals} over={RANGE_TITLES[range]} app={app?.name} />}
          />
        </>
      )}
      {app && <BusiestChannels app={app} />}
    </Page>
  );
}
