import type { PageParameters } from "../routes.tsx";
import { Page } from "../ui/page.tsx";

export const Usage = (_: { readonly at: PageParameters }) => <Page title="Usage" />;
