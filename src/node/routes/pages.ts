/** The pages that browsers open: the start page, the documentation, the dashboard, meetings; and the client that other pages import. */
import type { Config } from "../../config/settings.ts";
import { DEMO_PATH, DOCS_PATH, REFERENCE_PATH, ROOT_FILES } from "../../http/docs/server.ts";
import { ASSETS_PATH } from "../../http/pages/bundle.ts";
import { type MeetingPageParts, meetingPage, noApplicationPage } from "../../http/pages/meeting.ts";
import { CLIENT_PATH, type PageServer, wantsPage } from "../../http/pages/pages.ts";
import { demoNames, startPage } from "../../http/pages/start.ts";
import type { Call } from "../../http/request/call.ts";
import type { RequestPipeline, Routes } from "../../http/server/pipeline.ts";
import { Problem } from "../../protocol/codes.ts";
import { VERSION } from "../../version.ts";

interface PageParts {
  readonly config: Config;
  readonly pipeline: RequestPipeline;
  readonly pages: PageServer;
  /** The id of a publishable key of the demo that every origin may use. */
  readonly demoKey: () => string | undefined;
  readonly isOwnHost: (call: Call) => boolean;
  readonly appNamed: MeetingPageParts["appNamed"];
  readonly room: MeetingPageParts["room"];
}

export interface PageRoutes {
  readonly publicPages: Routes;
  /** On the operator's own address, if there is one. */
  readonly operatorPages: Routes;
}

export function pageRoutes({ config, pipeline, pages, demoKey, isOwnHost, appNamed, room }: PageParts): PageRoutes {
  const asset = pipeline.publicRoute(`${ASSETS_PATH}:name`, (call) => pages.asset(call));
  const assets: Routes = { [`${ASSETS_PATH}:name`]: pipeline.handler(asset) };
  const start = startPage({
    pages,
    version: VERSION,
    demoKey,
    linksDashboard: config.dashboard && config.adminListen === "",
  });
  const inApplication = pipeline.publicRoute(
    "/:roomName",
    meetingPage({ pages, appNamed, room, iceUrls: () => config.turnUrls }),
    { hosts: "application" },
  );
  const elsewhere = pipeline.publicRoute("/:roomName", noApplicationPage({ pages, address: config }));
  const meeting = pipeline.dynamicHandler(
    (call) => (call.target.app === undefined && wantsPage(call) ? elsewhere : inApplication),
    inApplication,
  );
  const publicPages = {
    ...assets,
    [CLIENT_PATH]: pipeline.handler(pipeline.publicRoute(CLIENT_PATH, (call) => pages.client(call))),
    ...docsRoutes(pipeline, pages),
    [DEMO_PATH]: pipeline.handler(pipeline.publicRoute(DEMO_PATH, demoNames(demoKey))),
    "/": pipeline.handler(pipeline.publicRoute("/", start, { hosts: "own" })),
    // Every other path of one segment on an application's host; paths of the service come first.
    "/:roomName": meeting,
    // Links get a slash at their end by hand and by other programs.
    "/:roomName/": meeting,
  };
  if (!config.dashboard) return { publicPages, operatorPages: {} };
  const dashboardPage = (call: Call): Response | Promise<Response> => {
    if (!isOwnHost(call)) throw new Problem("wrong_host");
    return pages.page("dashboard", call);
  };
  const dashboard = pipeline.handler(pipeline.publicRoute("/dashboard", dashboardPage, { hosts: "own" }));
  // Every address below it is a view of the same page.
  return { publicPages, operatorPages: { ...assets, "/dashboard": dashboard, "/dashboard/*": dashboard } };
}

/** Only Bun's named parameters hold a path as it was sent; the documentation has at most one folder inside. */
function docsRoutes(pipeline: RequestPipeline, pages: PageServer): Routes {
  const route = (path: string, handle: (call: Call) => Response | Promise<Response>): Routes => ({
    [path]: pipeline.handler(pipeline.publicRoute(path, handle)),
  });
  return {
    ...route(DOCS_PATH, (call) => pages.docs("", call)),
    ...route(`${DOCS_PATH}/`, () => new Response(null, { status: 308, headers: { Location: DOCS_PATH } })),
    ...route(REFERENCE_PATH, (call) => pages.page("reference", call)),
    ...route(`${DOCS_PATH}/:page`, (call) => pages.docs(call.params.page ?? "", call)),
    ...route(`${DOCS_PATH}/:folder/:page`, (call) => pages.docs(`${call.params.folder}/${call.params.page}`, call)),
    ...Object.assign({}, ...ROOT_FILES.map((name) => route(`/${name}`, (call) => pages.docs(name, call)))),
  };
}
