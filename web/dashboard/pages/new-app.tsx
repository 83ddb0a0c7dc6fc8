import type { PageParameters } from "../routes.tsx";
import { Page } from "../ui/page.tsx";

export const NewApp = (_: { readonly at: PageParameters }) => <Page title="New application" />;
