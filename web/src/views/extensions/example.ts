/** Each part once, and small: one service with a volume, a domain, and a secret that is made up. */
export const EXAMPLE = `metadata:
  id: my-extension
  name: My extension
  description: Says what it is good for.
  author: Me
  category: Utility
  type: install
  version: 1.0.0

variables:
  domain:
    type: string
    description: Where visitors find it.
    is_required: true
  token:
    type: secret
    description: Made up unless it is given.

execution:
  run:
    - name: Start it
      type: docker_compose
      properties:
        action: up
        compose:
          services:
            page:
              image: nginx:1.29-alpine
              restart: unless-stopped
              environment:
                TOKEN: "{{ token }}"
              volumes:
                - data:/data
          volumes:
            data: {}
    - name: Lead visitors there
      type: proxy
      properties:
        action: add
        domain: "{{ domain }}"
        service: page
        port: 80
  validate:
    - name: Wait until it answers
      type: wait
      properties:
        service: page
        port: 80
`;
