import{S as e,g as t,h as n,o as r}from"./libraries-rtXbZG4A.js";import{Di as i,Dt as a,Fn as o,Fr as s,Gi as c,Oi as l,Ri as u,Zn as d,fi as f,li as p}from"./base-eUUKTwwz.js";import{s as m}from"./VariableFields-D4X0DSRS.js";import{c as h,u as g}from"./Extensions-qh-Yyb-l.js";import{n as _,t as v}from"./TextProblems-2X7Hrsxl.js";var y=`metadata:
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
`;function b(){let b=c(),{route:x}=r(),{membership:S,may:C}=u(),w=e(),T=t(null),[E,D]=d(`new extension ${S.organization_id}`,y),O=o(),k=g(O.error),A=k.map(e=>h(E,e));if(!C(`extension:create`))return n(s,{title:b.extensionText.createTitle,children:n(`p`,{class:`notice`,children:b.extensionText.readOnlyRole})});let j=e=>O.mutate({yaml_content:E,...e?{draft:!0}:{}},{onSuccess:e=>{D(()=>y),p(e.validation_status===`valid`?b.extensionText.created:b.extensionText.savedDraft),x(m(e,e.validation_status===`valid`?void 0:`text`))}});return n(s,{title:b.extensionText.createTitle,children:n(`form`,{class:`stack`,onSubmit:e=>{e.preventDefault(),O.isPending||j(!1)},children:[n(`p`,{class:`prose`,children:b.extensionText.createHint}),n(v,{id:w,problems:A,isStale:O.variables?.yaml_content!==E,onGoTo:(e,t)=>T.current?.goTo(e,t)}),n(_,{label:b.extensionText.label,text:E,readOnly:!1,problems:A,describedBy:A.length>0?w:``,handle:T,onText:e=>D(()=>e)}),n(a,{children:[n(i,{type:`submit`,kind:`primary`,busy:O.isPending,children:b.extensionText.createAction}),k.length>0&&n(i,{busy:O.isPending,onClick:()=>j(!0),children:b.extensionText.saveDraft}),n(l,{kind:`quiet`,href:`/extensions`,children:b.common.cancel}),k.length===0&&n(f,{error:O.error})]})]})})}export{b as default};