import type { PageParameters } from "../routes.tsx";
import { Page } from "../ui/page.tsx";

export const Nodes = (_: { readonly at: PageParameters }) => <Page title="Nodes" />;
