/** Drawn on a grid of 16. They only decorate: what they mean is always written beside them or in a label. */
function Icon({ d, width = 1.5 }: { d: string; width?: number }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path
        d={d}
        fill="none"
        stroke="currentColor"
        stroke-width={width}
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}

export const ChevronIcon = () => <Icon d="m4.5 6.5 3.5 3.5 3.5-3.5" />;
export const SearchIcon = () => <Icon d="M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9Zm3.3-1.2 3.2 3.2" />;
export const CloseIcon = () => <Icon d="m4 4 8 8m0-8-8 8" />;
export const CopyIcon = () => <Icon d="M6 6h7v7H6zM10 3H3v7" />;
export const PlusIcon = () => <Icon d="M8 3v10M3 8h10" />;
export const LinkIcon = () => <Icon d="M6.5 3.5h-3v9h9v-3M9 3h4v4M13 3 7.5 8.5" />;
export const UserIcon = () => (
  <Icon d="M8 8a2.7 2.7 0 1 0 0-5.4A2.7 2.7 0 0 0 8 8Zm-5 5.5c.5-2.4 2.4-3.5 5-3.5s4.5 1.1 5 3.5" />
);
export const MoreIcon = () => <Icon d="M3 8h.01M8 8h.01M13 8h.01" width={2.5} />;
export const CheckIcon = () => <Icon d="m3.5 8.5 3 3 6-7" />;
export const LogoIcon = () => (
  <svg class="icon" viewBox="0 0 24 24" width="22" height="22" aria-hidden="true" focusable="false">
    <path
      d="M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm0-8V2.500M12 21.500V16M8 12H2.500M21.5 12H16M9.2 9.2 5.3 5.300M18.7 18.700l-3.9-3.900M9.2 14.800l-3.9 3.900M18.7 5.300l-3.9 3.9"
      fill="none"
      stroke="currentColor"
      stroke-width="2"
      stroke-linecap="round"
    />
  </svg>
);
