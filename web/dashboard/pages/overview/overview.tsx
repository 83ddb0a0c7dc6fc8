/** The overview of the service or of one application: numbers, charts, refusals, nodes and the busiest channels. */
import type { PageParameters } from "../../address/router.ts";
import { apps, currentApp } from "../../live/apps.ts";
import { useNodes } from "../../live/nodes.ts";
import { useSeries } from "../../live/series.ts";
import { Page } from "../../ui/page.tsx";
import { chosenRange, RangeChoice } from "../../ui/range.tsx";
import { NotFound } from "../not-found.tsx";
import { Charts, metricsOf, Numbers } from "./charts.tsx";
import { FirstApplication, useFirstSteps } from "./first-steps.tsx";
import { BusiestChannels, NodesAtAGlance } from "./lists.tsx";
import { Refusals } from "./refusals.tsx";

const NODES_MS = 5000;

export function Overview({ at }: { readonly at: PageParameters }) {
  const app = currentApp.value;
  const { data, range, error } = useSeries({ ...metricsOf(app?._id), unknown: UNKNOWN_REFUSALS }, chosenRange());
  const nodes = useNodes(NODES_MS);
  const firstSteps = useFirstSteps(app);
  if (at.app !== undefined && !app) return <NotFound />;
  return (
    <Page
      title="Overview"
      actions={<RangeChoice />}
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
            beside={<Refusals of={data.refusals} unknown={data.unknown} range={range} app={app?.name} />}
          />
        </>
      )}
      {app && <BusiestChannels app={app} />}
    </Page>
  );
}

const UNKNOWN_REFUSALS = { metric: "refusals", credentials: "unknown" } as const;
