import { BASE } from "../lib/router.ts";
import { Empty } from "../ui/notice.tsx";
import { Page } from "../ui/page.tsx";

export const NotFound = () => (
  <Page title="There is no such page">
    <Empty title="The address is misspelt, or what it named is gone.">
      <a href={BASE}>To the overview</a>
    </Empty>
  </Page>
);
