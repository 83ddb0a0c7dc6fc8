import type { PageParameters } from "../routes.tsx";
import { Page } from "../ui/page.tsx";

export const Peer = (_: { readonly at: PageParameters }) => <Page title="Peer" />;
